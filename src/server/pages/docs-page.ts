/** The description of the API as a page to read: no scripts, nothing from outside. */

interface Described {
  info: { title: string; version: string; description: string }
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, unknown> }
}

interface Operation {
  summary: string
  tags: string[]
  'x-scope': string
  parameters: Array<{ name: string; in: string; required: boolean; description?: string }>
  requestBody?: { required: boolean; content: Record<string, { schema: unknown }> }
  responses: Record<string, { content: Record<string, { schema: unknown }> }>
}

export const docsStyle = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
html { background: Canvas; color: CanvasText }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 0.875rem/1.4 ui-monospace, monospace }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid color-mix(in srgb, currentColor 20%, transparent); border-radius: 0.25rem }
summary { cursor: pointer; padding: 0.25rem 0 }
summary:focus-visible, a:focus-visible { outline: 2px solid; outline-offset: 2px }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; text-transform: uppercase }
.scope { opacity: 0.7 }
.narrow { max-width: 34rem; margin: 12vh auto 0 }
form { display: grid; grid-template-columns: 1fr auto; gap: 0.5rem; margin: 1.5rem 0 }
label { grid-column: 1 / -1; font-weight: 600 }
input, button { font: inherit; padding: 0.4rem 0.75rem; border: 1px solid #767b86; border-radius: 0.25rem; min-width: 0 }
button { cursor: pointer }
[role="alert"] { border-left: 3px solid #c9323d; padding: 0.25rem 0.75rem }
`

export function docsPage(description: Record<string, unknown>, basePath = ''): string {
  const { info, paths, components } = description as unknown as Described
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const tags = [...new Set(operations.map(({ operation }) => operation.tags[0]!))]
  const sections = tags.map(tag => {
    const own = operations.filter(({ operation }) => operation.tags[0] === tag)
    return `<section id="${tag}"><h2>${tag}</h2>${own.map(told).join('')}</section>`
  })
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="${escaped(name)}"><summary><code>${escaped(name)}</code></summary>${json(schema)}</details>`,
  )
  return page(
    `${info.title} API`,
    `<h1>${escaped(info.title)} ${escaped(info.version)}</h1><p>${escaped(info.description)}</p>
<p>The same for machines: <a href="${escaped(basePath)}/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>
<nav>${tags.map(tag => `<a href="#${tag}">${tag}</a>`).join(' · ')} · <a href="#schemas">schemas</a></nav>
<main>${sections.join('')}<section id="schemas"><h2>schemas</h2>${schemas.join('')}</section></main>`,
    basePath,
  )
}

export function page(title: string, body: string, basePath = ''): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title><link rel="stylesheet" href="${escaped(basePath)}/api/docs.css"></head><body>${body}</body></html>`
}

function told({ path, method, operation }: { path: string; method: string; operation: Operation }): string {
  const { summary, parameters, requestBody, responses } = operation
  const rows = parameters.map(
    one =>
      `<li><code>${escaped(one.name)}</code> (${one.in}${one.required ? ', required' : ''}) ${escaped(one.description ?? '')}</li>`,
  )
  const body = Object.values(requestBody?.content ?? {})[0]
  const [answer] = Object.values(responses)
  const [[type, content] = ['', { schema: {} }]] = Object.entries(answer?.content ?? {})
  return `<details><summary><span class="method">${method}</span> <code>${escaped(path)}</code><br>
${escaped(summary)} <span class="scope">(${operation['x-scope']})</span></summary>
${rows.length > 0 ? `<ul>${rows.join('')}</ul>` : ''}
${body ? `<p>Body${requestBody?.required ? '' : ' (optional)'}:</p>${json(body.schema)}` : ''}
<p>Answer, <code>${escaped(type)}</code>:</p>${json(content.schema)}</details>`
}

function json(value: unknown): string {
  return `<pre>${escaped(JSON.stringify(value, null, 2))}</pre>`
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
