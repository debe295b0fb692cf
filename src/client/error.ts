/** An error of the server; its code stands for the class of the error there. */
import type { Problem } from '../server/contract/common.ts'

export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly facts: Readonly<Record<string, unknown>>
  /** The wrong fields, if the input is invalid. */
  readonly errors: ReadonlyArray<{ field: string; message: string }>
  readonly requestId: string | undefined

  constructor({ code, status, detail, facts, errors = [], requestId }: Partial<Problem> & { status: number }) {
    super(detail ?? `The server answered ${status}.`)
    this.name = 'ApiError'
    this.code = code ?? 'unexpected'
    this.status = status
    this.facts = facts ?? {}
    this.errors = errors
    this.requestId = requestId
  }
}

export async function apiError(response: Response): Promise<ApiError> {
  const problem = (await response.json().catch(() => ({}))) as Partial<Problem>
  return new ApiError({ ...problem, status: response.status })
}
