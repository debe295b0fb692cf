/** Real git repositories and plain folders, gone after the test. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryFolder } from './temporary.ts'

// Settings of the machine (global ignore files, signing, hooks) must not reach into a test.
process.env.GIT_CONFIG_GLOBAL = '/dev/null'
process.env.GIT_CONFIG_NOSYSTEM = '1'

export type Files = Readonly<Record<string, string>>

/** A folder with these files; a name that ends in `/` is an empty folder. */
export function folderWith(files: Files): string {
  const folder = temporaryFolder()
  write(folder, files)
  return folder
}

export function write(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    const place = join(folder, path)
    mkdirSync(path.endsWith('/') ? place : dirname(place), { recursive: true })
    if (!path.endsWith('/')) writeFileSync(place, text)
  }
}

/** A repository with these files, untracked. */
export function repositoryWith(files: Files): string {
  const folder = folderWith(files)
  runGit(folder, 'init', '--quiet')
  return folder
}

export function commit(folder: string, subject: string): void {
  runGit(folder, 'add', '--all')
  runGit(folder, 'commit', '--quiet', '--allow-empty', '-m', subject)
}

export function runGit(folder: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...who, ...args], { cwd: folder, encoding: 'utf8' })
}
