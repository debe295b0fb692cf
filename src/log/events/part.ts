/** Parts of a message. */
import { z } from 'zod'
import { Id } from './id.ts'

export const TextPart = z.object({ type: z.literal('text'), text: z.string() })
export type TextPart = z.infer<typeof TextPart>

export const ToolCallPart = z.object({
  type: z.literal('tool-call'),
  callId: Id,
  name: z.string().min(1),
  input: z.unknown(),
})
export type ToolCallPart = z.infer<typeof ToolCallPart>

export const ToolResultPart = z.object({
  type: z.literal('tool-result'),
  callId: Id,
  name: z.string().min(1).optional(),
  output: z.unknown(),
  isError: z.boolean().optional(),
})
export type ToolResultPart = z.infer<typeof ToolResultPart>

export const ReasoningPart = z.object({
  type: z.literal('reasoning'),
  text: z.string(),
  /** Opaque data that a provider requires back with its own reasoning. */
  signature: z.string().optional(),
})
export type ReasoningPart = z.infer<typeof ReasoningPart>

/** A file by reference (path or URL), or with its text. */
export const FilePart = z.object({
  type: z.literal('file'),
  name: z.string().min(1),
  mediaType: z.string().optional(),
  path: z.string().optional(),
  url: z.string().optional(),
  text: z.string().optional(),
})
export type FilePart = z.infer<typeof FilePart>

export const Part = z.discriminatedUnion('type', [TextPart, ToolCallPart, ToolResultPart, ReasoningPart, FilePart])
export type Part = z.infer<typeof Part>
