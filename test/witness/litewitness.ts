import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { WitnessAddress } from '../../src/audit/add-checkpoint.ts'
import { parseWitnessKey } from '../../src/audit/cosignature.ts'
import { emptyRoot } from '../../src/audit/merkle.ts'
import { type Verifier, verifierText } from '../../src/audit/note.ts'
import { pickPorts } from '../../src/embedded/free-ports.ts'

export interface RunningWitness extends WitnessAddress {
  stop(): void
}

const emptyHash = emptyRoot.toString('base64')

const untilExists = async (path: string): Promise<void> => {
  while (!existsSync(path)) await delay(20)
}

/** As its `witnessctl` does, which needs packages that no proxy has. */
const addLog = (database: string, verifier: Verifier): void => {
  const db = new DatabaseSync(database)
  db.prepare('INSERT INTO log (origin, tree_size, tree_hash) VALUES (?, 0, ?)').run(verifier.name, emptyHash)
  db.prepare('INSERT INTO key (origin, key) VALUES (?, ?)').run(verifier.name, verifierText(verifier))
  db.close()
}

/** Runs litewitness with a new key, which an ssh-agent holds, for the logs of these keys. */
export const startLitewitness = async (program: string, logs: readonly Verifier[]): Promise<RunningWitness> => {
  const folder = mkdtempSync(join(tmpdir(), 'litewitness-'))
  const at = (name: string): string => join(folder, name)
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at('key')])
  const agent = spawn('ssh-agent', ['-D', '-a', at('agent')], { stdio: 'ignore' })
  await untilExists(at('agent'))
  execFileSync('ssh-add', ['-q', at('key')], { env: { ...process.env, SSH_AUTH_SOCK: at('agent') }, stdio: 'ignore' })
  const [, fingerprint = ''] = execFileSync('ssh-keygen', ['-lf', at('key.pub')], { encoding: 'utf8' }).split(' ')
  const [port] = await pickPorts(1)
  const named = ['-name', 'witness.test/litewitness', '-db', at('db'), '-ssh-agent', at('agent')]
  const child = spawn(program, [...named, '-key', fingerprint, '-listen', `127.0.0.1:${port}`])
  const stop = (): void => {
    child.kill()
    agent.kill()
    rmSync(folder, { recursive: true, force: true })
  }
  let output = ''
  for await (const part of child.stderr) {
    output += part
    const [, vkey] = /vkey=(\S+)/.exec(output) ?? []
    if (vkey === undefined || !output.includes('listening')) continue
    for (const log of logs) addLog(at('db'), log)
    return { url: `http://127.0.0.1:${port}`, key: parseWitnessKey(vkey), stop }
  }
  stop()
  throw new Error(`litewitness did not start: ${output}`)
}
