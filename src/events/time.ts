/** The furthest time, in milliseconds since 1970: what a date can hold. */
export const furthestTime = 8_640_000_000_000_000
