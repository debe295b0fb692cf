/** Imports a file: choose, read, write, then show the result. */
import { useRef, useState } from 'react'
import { tell } from '../../../components/notices.tsx'
import { useClient, useMe, useProject } from '../../../connection/client.tsx'
import { go } from '../../../router/router.tsx'
import { conversationPlace } from '../../places.ts'
import './import-button.css'
import { importFile } from './import-file.ts'

/** A page has at most one. */
const importField = 'import-file'

export function chooseFile(): void {
  document.getElementById(importField)?.click()
}

interface Props {
  label: string
  isDisabled?: boolean
  /** Called when an import starts and when it fails. */
  onBusy?(isBusy: boolean): void
  onFailure(error: unknown): void
}

export function ImportButton({ label, isDisabled = false, onBusy, onFailure }: Props) {
  const client = useClient()
  const project = useProject()
  const me = useMe()
  const [progress, setProgress] = useState<{ done: number; of: number }>()
  const field = useRef<HTMLInputElement>(null)

  const take = async (file: File) => {
    onBusy?.(true)
    setProgress({ done: 0, of: 0 })
    try {
      const place = { client, project, mayRestore: me?.scope === 'admin' }
      const { conversationId, note } = await importFile(place, file, (done, of) => setProgress({ done, of }))
      go(conversationPlace(project, conversationId))
      tell(note)
    } catch (error) {
      onFailure(error)
    } finally {
      onBusy?.(false)
      setProgress(undefined)
      // Allows choosing the same file again after it was corrected.
      if (field.current) field.current.value = ''
    }
  }
  return (
    <label className="button import" aria-busy={progress !== undefined}>
      {progress === undefined ? label : progress.of === 0 ? 'Reading…' : `${progress.done} of ${progress.of}`}
      <input
        ref={field}
        id={importField}
        type="file"
        aria-label={label}
        accept=".json,.jsonl,.ndjson,.gz,application/json"
        disabled={isDisabled || progress !== undefined || me?.scope === 'read'}
        onChange={event => {
          const file = event.target.files?.[0]
          if (file) void take(file)
        }}
      />
    </label>
  )
}
