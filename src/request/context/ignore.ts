/** Reads ignore files as git does where git itself cannot be asked. */
import ignore from 'ignore'

interface IgnoreRules {
  /** Adds the ignore file of `folder` (`''` is the root). A deeper file comes after those above it and wins. */
  add(folder: string, text: string): void
  ignores(path: string, isFolder: boolean): boolean
}

export function ignoreRules(): IgnoreRules {
  const rules = ignore({ ignorecase: false })
  return {
    add: (folder, text) => void rules.add(folder === '' ? withoutMark(text) : rebased(folder, withoutMark(text))),
    ignores: (path, isFolder) => rules.ignores(isFolder ? `${path}/` : path),
  }
}

const withoutMark = (text: string) => text.replace(/^\ufeff/, '')

/** The library knows one folder only, so the patterns of a deeper one are written as seen from the root. */
function rebased(folder: string, text: string): string[] {
  const prefix = `/${folder.replace(/[\\*?[\] !#]/g, '\\$&')}/`
  return text.split(/\r?\n/).flatMap(line => {
    const [, negation = '', pattern = ''] = /^(!?)(.*)$/s.exec(line)!
    if (pattern.trim() === '' || line.startsWith('#')) return []
    const isAnchored = /\/./.test(pattern.trimEnd())
    return `${negation}${prefix}${isAnchored ? pattern.replace(/^\//, '') : `**/${pattern}`}`
  })
}
