/**
 * The base URL of the server: the folder of this page. Routes stand behind the `#`, so the same files work below any
 * path and behind any proxy.
 */
export function base(): string {
  return new URL('.', location.href.replace(/[?#].*$/s, '')).href.replace(/\/$/, '')
}
