/** Work that goes on after its request is answered. */

/** Resolves when `work` has begun. Earlier errors reject, later ones go to `onFailure`. */
export function startInBackground(
  work: (options: { onBegun: () => void }) => Promise<unknown>,
  onFailure: (error: unknown) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isBegun = false
    const onBegun = () => {
      isBegun = true
      resolve()
    }
    work({ onBegun }).catch(error => (isBegun ? onFailure(error) : reject(error)))
  })
}
