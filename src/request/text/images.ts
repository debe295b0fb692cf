/**
 * Images in messages: sent as such to models that see, and named in the text for all others.
 *
 * A message holds an image by reference, a path in the work tree or an address. What is at a path is read when the
 * request is sent; a request names it only, so that the same material gives the same request.
 */
import type { FilePart, Part } from '../../log/events/part.ts'
import type { RequestPart } from './provider-message.ts'

/** Max tokens of an image, by the published figures of providers. */
export const imageTokens = 1_600

/** Media types that providers take. */
const mediaTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export type ImagePart = Extract<RequestPart, { type: 'image' }>

export function isImage(part: Part): part is FilePart & { mediaType: string } {
  if (part.type !== 'file' || part.mediaType === undefined || !mediaTypes.has(part.mediaType)) return false
  return part.path !== undefined || (part.url !== undefined && /^(?:https?|data):/i.test(part.url))
}

export function imagesIn(parts: readonly Part[]): ImagePart[] {
  return parts.filter(isImage).map(({ name, mediaType, path, url }) => ({
    type: 'image',
    name,
    mediaType,
    ...(path === undefined ? { url: url! } : { path }),
  }))
}

/** The path or address of a file. A `data:` address is its content and is not repeated. */
export function whereOf({ path, url }: Pick<FilePart, 'path' | 'url'>): string | undefined {
  return path ?? (url !== undefined && /^data:/i.test(url) ? undefined : url)
}
