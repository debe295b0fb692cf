/** The version of this package, whose `package.json` stands above the folder this is built into. */
import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string
}

export { version }
