/** The newest commits of the repository a folder stands in. */
import { git } from './git.ts'

const longestSubject = 200

/** `hash subject`, newest first; undefined where there is no repository or no commit yet. */
export async function recentCommits(root: string, count = 10): Promise<string[] | undefined> {
  const printed = await git(root, ['log', '-n', String(count), '--format=%h %s', '--no-color', '--encoding=UTF-8'])
  if (printed === undefined) return undefined
  return printed
    .split('\n')
    .filter(line => line !== '')
    .map(line => (line.length > longestSubject ? `${line.slice(0, longestSubject)}…` : line))
}
