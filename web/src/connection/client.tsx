/** The client of the server that this page came from, and the live connection of the project that is looked at. */
import { type Client, connect } from 'colloquy/client'
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react'
import { base } from '../router/base.ts'
import { type LiveConnection, liveConnection } from './live.ts'

/** Calls that belong to no project: the list of projects, who we are. */
export const server: Client = connect({ url: base() })

let known: Promise<string> | undefined

/** The name that the token goes by: what is written here carries it. */
export function ownName(): Promise<string> {
  known ??= server.operations.whoami().then(({ name }) => name)
  return known
}

interface Connected {
  project: string
  client: Client
  live: LiveConnection
}

const Connection = createContext<Connected | undefined>(undefined)

/** Everything below it talks about one project. Give it the project as its key. */
export function ProjectConnection({ project, children }: { project: string; children: ReactNode }) {
  const [connected] = useState<Connected>(() => {
    const client = connect({ url: base(), project })
    return { project, client, live: liveConnection(client) }
  })
  useEffect(() => {
    connected.live.open()
    return () => connected.live.close()
  }, [connected])
  return <Connection value={connected}>{children}</Connection>
}

function useConnected(): Connected {
  const connected = useContext(Connection)
  if (!connected) throw new Error('only within a project')
  return connected
}

export const useProject = (): string => useConnected().project
export const useClient = (): Client => useConnected().client
export const useLiveConnection = (): LiveConnection => useConnected().live
