/** What statements take. */
export type Value = string | number | boolean | null | Uint8Array | readonly string[] | readonly number[]
