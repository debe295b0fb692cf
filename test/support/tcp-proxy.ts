/** A proxy that cuts connections, closed after the test. */
import { onTestFinished } from 'vitest'
import { type CutProxy, openCutProxy } from './cut-proxy.ts'

export async function cutProxy(socketFolder: string): Promise<CutProxy> {
  const proxy = await openCutProxy(socketFolder)
  onTestFinished(proxy.close)
  return proxy
}
