/**
 * Spans around what takes time: append, assemble, compact, run. For whoever hands in a tracer; without one nothing here
 * is called. The shapes are OpenTelemetry's, so a tracer of theirs fits, and nothing of theirs is needed.
 */

export type SpanAttributes = Record<string, string | number | boolean>

export interface Span {
  setAttributes(attributes: SpanAttributes): unknown
  recordException(error: Error): void
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** As `trace.getTracer('colloquy')` of `@opentelemetry/api` gives one. */
export interface Tracer {
  startActiveSpan<T>(name: string, options: { attributes?: SpanAttributes }, work: (span: Span) => T): T
}

type SpanName = 'colloquy.append' | 'colloquy.assemble' | 'colloquy.compact' | 'colloquy.run'

/** Does the work inside a span, which ends with it. What the work learns on its way can be noted on the span. */
export type Traced = <T>(
  name: SpanName,
  attributes: SpanAttributes,
  work: (note: (attributes: SpanAttributes) => void) => Promise<T>,
) => Promise<T>

/** OpenTelemetry's number for a span that failed. */
const failedCode = 2

export function traced(tracer: Tracer): Traced {
  return (name, attributes, work) =>
    tracer.startActiveSpan(name, { attributes }, async span => {
      try {
        return await work(noted => void span.setAttributes(noted))
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error))
        span.recordException(failure)
        span.setStatus({ code: failedCode, message: failure.message })
        throw error
      } finally {
        span.end()
      }
    })
}
