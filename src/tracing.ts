/**
 * Spans around append, assemble, compact and run, if the caller passes a tracer. The types match those of OpenTelemetry,
 * which need not be installed.
 */

export type SpanAttributes = Record<string, string | number | boolean>

export interface Span {
  setAttributes(attributes: SpanAttributes): unknown
  recordException(error: Error): void
  setStatus(status: { code: number; message?: string }): unknown
  end(): void
}

/** Tracer of `@opentelemetry/api`: `trace.getTracer('colloquy')`. */
export interface Tracer {
  startActiveSpan<T>(name: string, options: { attributes?: SpanAttributes }, work: (span: Span) => T): T
}

type SpanName = 'colloquy.append' | 'colloquy.assemble' | 'colloquy.compact' | 'colloquy.run'

/** Does the work inside a span. The work can add attributes to the span. */
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
        return await work(workAttributes => void span.setAttributes(workAttributes))
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
