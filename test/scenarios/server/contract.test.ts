/** The contract: described in full, and usable where there is no Node. */
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { description, endpoints } from 'colloquy/server'
import { expect, it } from 'vitest'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))

it('the contract describes every endpoint as OpenAPI 3.1, and everything it refers to is there', () => {
  const described = description('1.0.0') as {
    openapi: string
    paths: Record<string, Record<string, { operationId: string; parameters: Array<{ in: string; name: string }> }>>
    components: { schemas: Record<string, unknown> }
  }
  expect(described.openapi).toBe('3.1.0')
  for (const { resource, name, endpoint } of endpoints) {
    const operation = described.paths[endpoint.path]?.[endpoint.method]
    expect(operation?.operationId).toBe(`${resource}.${name}`)
    const inPath = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    const told = operation?.parameters.filter(one => one.in === 'path').map(one => one.name)
    expect(new Set(told)).toEqual(new Set(inPath))
  }
  const text = JSON.stringify(described)
  const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!)
  const missing = references.filter(
    reference => !(reference.split('/').at(-1)! in described.components.schemas) && reference !== '#',
  )
  expect(missing).toEqual([])
  expect(text).not.toContain('$defs')
})

it('the contract has one endpoint per method and path', () => {
  const places = endpoints.map(({ endpoint }) => `${endpoint.method} ${endpoint.path}`)
  expect(new Set(places).size).toBe(places.length)
})

it('the contract gives browsers a client without anything of Node in it', () => {
  const seen = new Set<string>()
  const outside = new Set<string>()
  const offences: string[] = []
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    if (/\bBuffer\.|\bprocess\.|\brequire\(/.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''))) {
      offences.push(relative(root, file))
    }
    for (const [, from] of text.matchAll(/^(?:import|export)\b.*?"([^"]+)";$/gm)) {
      if (from!.startsWith('.')) visit(resolve(dirname(file), from!))
      else outside.add(from!)
    }
  }
  // The built file has no types in it.
  visit(join(root, 'dist/client.js'))
  expect(seen.size).toBeGreaterThan(1)
  expect([...outside].sort()).toEqual(['eventsource-parser', 'zod'])
  expect(offences).toEqual([])
})
