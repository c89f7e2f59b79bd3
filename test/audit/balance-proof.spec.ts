import t from 'tap'
import { checkBalanceProof, makeBalanceProof, readBalanceProof } from '../../src/audit/balance-proof.ts'
import { deriveVerifier } from '../../src/audit/note.ts'
import { applyFrame, initialLedger } from '../../src/domain/ledger/ledger.ts'
import { balancePicos } from '../../src/domain/wallet/wallet.ts'
import { frameFromRaw } from '../../src/log/source-log.ts'
import { workspaceId } from '../roles/projector/facts.ts'
import { randomOf } from '../support/random.ts'
import { MemorySnapshots } from '../support/snapshots.ts'
import { MemorySource, sealedLog, stranger, verifier } from './sealed-log.ts'

const { frames, snapshots } = sealedLog({ frames: 120, random: randomOf(3), snapshots: true })
const store = new MemorySnapshots()
for (const { head, bytes } of snapshots.slice(-3)) store.put(head, bytes)
const source = { log: new MemorySource(frames), store, verifiers: [verifier] }
const { head } = snapshots.at(-1)!

t.test('a balance is proved with the key and the file alone, and shows one record', async (t) => {
  const proof = await makeBalanceProof(source, workspaceId)
  const text = JSON.stringify(proof)
  const proved = checkBalanceProof(readBalanceProof(text)!, [deriveVerifier(stranger), verifier])
  const ledger = initialLedger()
  for (const frame of frames.slice(0, head.sequence)) applyFrame(ledger, frameFromRaw(frame))
  t.match(proved, { origin: verifier.name, sequence: head.sequence })
  t.equal(balancePicos(proved.wallet), balancePicos(ledger.wallets.get(workspaceId)!))
  t.notOk(balancePicos(proved.wallet) === 0n)
  for (const other of ledger.wallets.keys()) if (other !== workspaceId) t.notOk(text.includes(other))
})

t.test('any changed character is noticed, and another key is refused', async (t) => {
  const proof = await makeBalanceProof(source, workspaceId)
  const missed: string[] = []
  for (const member of ['record', 'checkpoint'] as const)
    for (let place = 0; place < proof[member].length; place += 1) {
      const changed = `${proof[member].slice(0, place)}~${proof[member].slice(place + 1)}`
      try {
        checkBalanceProof({ ...proof, [member]: changed }, [verifier])
        missed.push(`${member} ${place}`)
      } catch {}
    }
  for (const [place, hash] of proof.path.entries()) {
    const path = proof.path.with(place, `${hash[0] === '0' ? '1' : '0'}${hash.slice(1)}`)
    t.throws(() => checkBalanceProof({ ...proof, path }, [verifier]), { name: 'ProofFault' })
  }
  t.same(missed, [])
  t.throws(() => checkBalanceProof(proof, [deriveVerifier(stranger)]), { name: 'NoteFault' })
  t.equal(readBalanceProof('{"format":"gateway-proof/1"}'), null)
})

t.test('an unknown workspace, and a log without a confirmed snapshot', async (t) => {
  await t.rejects(makeBalanceProof(source, 'nobody'), { message: /has no workspace nobody/ })
  await t.rejects(makeBalanceProof({ ...source, store: new MemorySnapshots() }, workspaceId), {
    message: /no checkpoint confirms a snapshot yet/,
  })
  const unconfirmed = new MemorySnapshots()
  unconfirmed.put(head, snapshots.at(-1)!.bytes)
  const log = new MemorySource(frames.slice(0, head.sequence))
  await t.rejects(makeBalanceProof({ ...source, store: unconfirmed, log }, workspaceId), {
    message: /no checkpoint confirms a snapshot yet/,
  })
})
