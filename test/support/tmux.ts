/** A person at a terminal, played by tmux: types, looks at the screen, changes its size. */
import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { onTestFinished, vi } from 'vitest'

export const hasTmux = spawnSync('tmux', ['-V']).status === 0

export interface Person {
  /** Keys by tmux's names, other text as it is: `type('hello', 'Enter')`. */
  type(...keys: string[]): void
  /** Pastes text the way a terminal does. */
  paste(text: string): void
  /** Returns the lines on the screen, with colours as escapes on demand. */
  screen(options?: { colours?: boolean }): string
  /** Looks until the screen is as expected, and gives it. */
  sees(expected: string | RegExp | ((screen: string) => boolean)): Promise<string>
  resize(columns: number, rows: number): void
  /** True if the program has ended. */
  isOver(): boolean
}

export function personAt(
  command: readonly string[],
  {
    cwd,
    columns = 80,
    rows = 50,
    env = {},
  }: { cwd: string; columns?: number; rows?: number; env?: Record<string, string> },
): Person {
  const server = `colloquy-${randomUUID()}`
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', server, '-f', '/dev/null', ...args], { encoding: 'utf8', stdio: 'pipe' })
  const { NO_COLOR: _, FORCE_COLOR: __, TMUX: ___, ...inherited } = process.env
  const size = ['-x', String(columns), '-y', String(rows)]
  // The window stays when the program has ended, so that its last words can be read.
  const keepWindow = ['set-option', '-g', 'remain-on-exit', 'on', ';']
  execFileSync(
    'tmux',
    ['-L', server, '-f', '/dev/null', ...keepWindow, 'new-session', '-d', ...size, '-c', cwd, ...command],
    {
      env: { ...inherited, TERM: 'xterm-256color', LANG: 'C.UTF-8', ...env },
      stdio: 'pipe',
    },
  )
  onTestFinished(() => {
    spawnSync('tmux', ['-L', server, 'kill-server'])
  })
  const screen = ({ colours = false } = {}) =>
    tmux('capture-pane', '-p', '-J', ...(colours ? ['-e'] : []))
      .split('\n')
      .map(line => line.trimEnd())
      .join('\n')
      .trimEnd()
  return {
    type: (...keys) => void tmux('send-keys', ...keys),
    paste(text) {
      tmux('set-buffer', text)
      tmux('paste-buffer', '-p', '-r')
    },
    screen,
    sees: expected =>
      vi.waitFor(
        () => {
          const now = screen()
          const isThere =
            typeof expected === 'function'
              ? expected(now)
              : typeof expected === 'string'
                ? now.includes(expected)
                : expected.test(now)
          if (!isThere) throw new Error(`not on the screen: ${expected}\n${now}`)
          return now
        },
        { timeout: 60_000, interval: 50 },
      ),
    resize: (columns, rows) => void tmux('resize-window', '-x', String(columns), '-y', String(rows)),
    isOver: () => tmux('list-panes', '-F', '#{pane_dead}').trim() === '1',
  }
}
