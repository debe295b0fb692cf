/** Whether the system refused a write because there is no room: none on the disk, or none left of a quota. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
}
