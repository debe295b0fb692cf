/** Images of a request as bytes in base64 or as an address. One that names a path only is left to the text next to it. */
import type { ImagePart } from '../text/images.ts'

export type ImageSource = { type: 'base64'; mediaType: ImageType; data: string } | { type: 'url'; url: string }

/** Media types that all providers take. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'

export function imageSource({ mediaType, url, data }: ImagePart): ImageSource | undefined {
  const type = mediaType as ImageType
  if (data !== undefined) return { type: 'base64', mediaType: type, data: base64(data) }
  const inline = /^data:[^,]*;base64,(.+)$/is.exec(url ?? '')?.[1]
  if (inline !== undefined) return { type: 'base64', mediaType: type, data: inline }
  return url !== undefined && /^https?:\/\/\S+$/i.test(url) ? { type: 'url', url } : undefined
}

export function dataUrl(source: ImageSource): string {
  return source.type === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
}

/** Works in browsers too. In pieces, because a call takes only so many arguments. */
function base64(data: Uint8Array): string {
  let binary = ''
  for (let start = 0; start < data.length; start += 8192)
    binary += String.fromCharCode(...data.subarray(start, start + 8192))
  return btoa(binary)
}
