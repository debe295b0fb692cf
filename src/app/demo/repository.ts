/** The repository of the demo: a small shop till in plain JavaScript, with tests of its own and nothing to install. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { git, gitOr, identity } from '../../agents/building/git/git.ts'
import { IllegalState } from '../../errors.ts'
import { configurationFiles } from '../configuration/configuration-reader.ts'

const opening = '# The demo of Colloquy made this project: a shop till that learns about coupons.'

const files: Readonly<Record<string, string>> = {
  // Written first: it marks the folder as a demo's, even when a crash kept the others from being written.
  [configurationFiles[0]]: `${opening}
project: till
tokens: fast
work:
  # Without this the scripts of package.json are the checks; so it takes no npm to run them.
  checks:
    lint: node scripts/lint.js
    test: node --test test/all.test.js
`,
  '.gitignore': '.colloquy/\nnode_modules/\n',
  'package.json': `${JSON.stringify(
    {
      name: 'till',
      private: true,
      type: 'module',
      scripts: { lint: 'node scripts/lint.js', test: 'node --test test/all.test.js' },
    },
    null,
    2,
  )}\n`,
  'README.md':
    '# till\n\nAdds up a basket and prints a receipt. Amounts are whole cents.\n\n`npm test` runs the tests.\n',
  'AGENTS.md':
    '# For agents\n\n- Amounts are whole cents, never fractions.\n- Every module in src has a test in test.\n',
  'src/money.js': `/** 1234 cents as "12.34". */
export function money(cents) {
  return \`\${Math.floor(cents / 100)}.\${String(cents % 100).padStart(2, '0')}\`
}
`,
  'src/basket.js': `/** The sum of a basket, in cents. */
export function total(items) {
  return items.reduce((sum, { cents, count = 1 }) => sum + cents * count, 0)
}
`,
  'test/till.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from '../src/basket.js'
import { money } from '../src/money.js'

test('adds up a basket', () => {
  assert.equal(total([{ cents: 250, count: 2 }, { cents: 99 }]), 599)
})

test('prints cents as money', () => {
  assert.equal(money(1205), '12.05')
})
`,
  'test/all.test.js': `// All tests in one process: \`node --test\` starts one for every file it is given.
import { readdirSync } from 'node:fs'

for (const name of readdirSync(new URL('.', import.meta.url))) {
  if (name.endsWith('.test.js') && name !== 'all.test.js') await import(\`./\${name}\`)
}
`,
  'scripts/lint.js': `// Every module in src has a test, and nothing is printed from there.
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const tests = readdirSync('test').map(name => readFileSync(\`test/\${name}\`, 'utf8')).join('')
let problems = 0
for (const name of readdirSync('src')) {
  if (!tests.includes(\`../src/\${name}\`)) problems += complain(\`src/\${name}: no test imports it\`)
  if (readFileSync(\`src/\${name}\`, 'utf8').includes('console.')) problems += complain(\`src/\${name}: prints something\`)
}
process.exitCode = problems > 0 || !existsSync('package.json') ? 1 : 0

function complain(text) {
  console.error(text)
  return 1
}
`,
}

export function isDemoFolder(folder: string): boolean {
  const marker = join(folder, configurationFiles[0])
  return existsSync(marker) && readFileSync(marker, 'utf8').startsWith(opening)
}

/**
 * Creates the repository, or its missing files.
 *
 * @throws {IllegalState} when the folder holds other files
 */
export async function demoRepository(folder: string): Promise<{ isNew: boolean }> {
  mkdirSync(folder, { recursive: true })
  if (!isDemoFolder(folder) && readdirSync(folder).length > 0) {
    throw new IllegalState(
      `${folder} is not empty and not a demo. Nothing was changed; name another folder, or move its files away.`,
      { folder },
    )
  }
  if (existsSync(join(folder, '.git')) && (await gitOr(folder, 'rev-parse', '--verify', '--quiet', 'HEAD')))
    return { isNew: false }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  await git(folder, 'init', '--quiet', '--initial-branch=main')
  await git(folder, 'add', '--all')
  await git(folder, ...(await identity(folder)), 'commit', '--quiet', '--no-gpg-sign', '-m', 'A till that adds up')
  return { isNew: true }
}

export const demoFeature = {
  featureId: 'coupons',
  name: 'Coupons',
  goal: 'A customer hands in a coupon such as "10%" or "2.50", and the receipt shows what it takes off the total.',
  spec: 'A coupon is a percentage or an amount. Amounts are rounded to whole cents. The receipt lists each item, the coupon if there is one, and the total.',
} as const
