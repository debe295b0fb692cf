/** Checks whether a word is bech32: letters and digits that end in a checksum of the others. */
const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]
const checksumLength = 6

export function isBech32(word: string): boolean {
  const lower = word.toLowerCase()
  if (word !== lower && word !== word.toUpperCase()) return false
  const separator = lower.lastIndexOf('1')
  if (separator < 1 || lower.length - separator - 1 < checksumLength) return false
  let sum = 1
  const take = (value: number) => {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    for (const [bit, generator] of generators.entries()) if ((top >>> bit) & 1) sum ^= generator
  }
  for (let i = 0; i < separator; i++) take(lower.charCodeAt(i) >>> 5)
  take(0)
  for (let i = 0; i < separator; i++) take(lower.charCodeAt(i) & 31)
  for (let i = separator + 1; i < lower.length; i++) {
    const value = alphabet.indexOf(lower[i]!)
    if (value < 0) return false
    take(value)
  }
  return sum === 1
}
