import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { temporaryFolder } from '../support/gateway.ts'
import { type LongestTurn, socketVariable } from './turn-watch.ts'

export interface TurnWatch {
  /** Of the process that is watched. */
  readonly env: Readonly<Record<string, string>>
  /** Since it was read before. */
  readLongest(): Promise<LongestTurn>
}

export const watchTurns = async (t: Test): Promise<TurnWatch> => {
  const socket = join(await temporaryFolder(t), 'turns.sock')
  const watch = fileURLToPath(new URL('turn-watch.ts', import.meta.url))
  return {
    env: { NODE_OPTIONS: `--import=${watch}`, [socketVariable]: socket },
    readLongest: async () => {
      const connection = connect(socket)
      await once(connection, 'connect')
      return (await json(connection)) as LongestTurn
    },
  }
}
