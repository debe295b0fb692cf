/** What is set to work and goes on by itself: whoever asks for it is answered when it has begun. */

/** Until `work` says that it has begun; what goes wrong before is the caller's to know, and later `onFailure`'s. */
export function atWork(
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
