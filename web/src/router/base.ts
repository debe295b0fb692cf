/**
 * Where the server is: in the folder of this page. What is shown stands behind the `#`, so the same files work below any
 * path, and no proxy has to know of it.
 */
export function base(): string {
  return new URL('.', location.href.replace(/[?#].*$/s, '')).href.replace(/\/$/, '')
}
