/** The API as OpenAPI 3.1, made of the contract. */
import { z } from 'zod'
import { Problem } from '../contract/common.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { endpoints } from '../contract/index.ts'

type Json = Record<string, unknown>

export function description(version: string): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  for (const { resource, name, endpoint } of endpoints) {
    paths[endpoint.path] ??= {}
    paths[endpoint.path]![endpoint.method] = operation(`${resource}.${name}`, resource, endpoint, schemas)
  }
  schemaOf(Problem, 'output', schemas)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Colloquy',
      version,
      description:
        'The conversation engine for teams of agents. Writes take Idempotency-Key, If-Match (a version of the conversation) and Colloquy-Fence where they say so; errors are problem details.',
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: "The owner's token, or one made with `colloquy token`" },
      },
    },
  }
}

function operation(id: string, tag: string, endpoint: Endpoint, schemas: Json): Json {
  const { summary, scope, params, query, body, answer, status, keyed, streams } = endpoint
  const isBodied = !(body instanceof z.ZodUndefined)
  return {
    operationId: id,
    tags: [tag],
    summary,
    'x-scope': scope,
    ...(scope === 'open' && { security: [] }),
    parameters: [
      ...parameters('path', params, schemas),
      ...parameters('query', query, schemas),
      ...(keyed ? writeHeaders : []),
    ],
    ...(isBodied && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { 'application/json': { schema: schemaOf(body, 'input', schemas) } },
      },
    }),
    responses: {
      [status]: {
        description: summary,
        content: { [streams ?? 'application/json']: { schema: schemaOf(answer, 'output', schemas) } },
      },
      default: {
        description: 'What went wrong, and what to do',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  }
}

const writeHeaders = [
  header('Idempotency-Key', 'Makes the write happen once: the same key gives the first result'),
  header('If-Match', 'Refuses the write unless the conversation is at this version, as "12"'),
  header('Colloquy-Fence', 'Refuses the write unless this lease is still held: GENERATION NAME'),
]

function header(name: string, description: string): Json {
  return { name, in: 'header', required: false, description, schema: { type: 'string' } }
}

function parameters(place: 'path' | 'query', schema: z.ZodObject, schemas: Json): Json[] {
  return Object.entries(schema.shape as Record<string, z.ZodType>).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || !field.safeParse(undefined).success,
    schema: schemaOf(field, 'input', schemas),
  }))
}

/** The schema in JSON Schema, which is OpenAPI 3.1's own; named ones go to `schemas` and are referred to. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const made = z.toJSONSchema(schema, { io, unrepresentable: 'any', target: 'draft-2020-12' }) as Json
  const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/')
  const { $schema: _, $defs, ...rest } = JSON.parse(text) as Json & { $defs?: Json }
  for (const [name, definition] of Object.entries($defs ?? {})) {
    const { id: _, ...plain } = definition as Json
    schemas[name] = plain
  }
  const name = schema.meta()?.id
  if (name === undefined) return rest
  const { id: __, ...plain } = rest
  schemas[name] = plain
  return { $ref: `#/components/schemas/${name}` }
}
