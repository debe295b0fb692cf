/** Nostr entities for tests: bech32 with a right checksum, over any bytes. */
const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

/** `entity('nevent', 'any seed')` is a word like `nevent1…`. */
export function entity(prefix: string, seed: string): string {
  const data = [...Buffer.from(seed.padEnd(8, '.'))].flatMap(byte => [byte >> 4, byte & 15])
  const values = [
    ...[...prefix].map(letter => letter.charCodeAt(0) >> 5),
    0,
    ...[...prefix].map(letter => letter.charCodeAt(0) & 31),
    ...data,
  ]
  const sum = polymod([...values, 0, 0, 0, 0, 0, 0]) ^ 1
  const checksum = [0, 1, 2, 3, 4, 5].map(place => (sum >> (5 * (5 - place))) & 31)
  return `${prefix}1${[...data, ...checksum].map(value => alphabet[value]).join('')}`
}

function polymod(values: readonly number[]): number {
  let sum = 1
  for (const value of values) {
    const top = sum >> 25
    sum = ((sum & 0x1ffffff) << 5) ^ value
    generators.forEach((generator, bit) => {
      if ((top >> bit) & 1) sum ^= generator
    })
  }
  return sum
}
