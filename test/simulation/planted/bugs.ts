import { edgeBugs } from './edge-bugs.ts'
import { ledgerBugs } from './ledger-bugs.ts'
import { logBugs } from './log-bugs.ts'
import { bug, type PlantedBug } from './planted-bug.ts'
import { processBugs } from './process-bugs.ts'
import { productionBugs } from './production-bugs.ts'
import { readerBugs } from './reader-bugs.ts'

const nats = 'adapters/nats'
const edge = 'roles/edge'

/** Faults that the program had, as the simulation found them. */
const mended: readonly PlantedBug[] = [
  bug(
    'a key is released before the refund of its request is stored',
    `${edge}/surfaces/inference/serve-idempotent.ts`,
    'held.release(settled())',
    'held.release(Promise.resolve())',
    'key-released-before-its-refund.json',
  ),
  bug(
    'a request whose proxy is lost after its client left is not ended',
    `${nats}/calls/call-state.ts`,
    'return end(isClientGone(phase) ? clientGoneUnended() : proxyGone())',
    'return end(isClientGone(phase) ? clientGoneError() : proxyGone())',
    'proxy-lost-after-its-client-left.json',
  ),
  bug(
    'what another poller submitted before the hold ended is not looked up',
    'roles/video-poller/next-step.ts',
    "return inDoubt && findFromMs !== null ? find(findFromMs, nowMs) : { type: 'finish' }",
    "return { type: 'finish' }",
    'hold-ended-before-its-task-was-known.json',
  ),
  bug(
    'a vendor that once does not find an ended video is not asked again',
    'roles/video-poller/poll-event.ts',
    'const isLast = state.vendorHasNone ||',
    'const isLast = true ||',
    'vendor-denies-an-ended-video.json',
  ),
  bug(
    'what another poller has submitted when a refusal is stored is not followed',
    'roles/video-poller/poll-event.ts',
    'if (state.inDoubt || !at.mayBeShared) return state',
    'if (state.deliveries > 0) return state',
    'refusal-is-stored-after-another-submit.json',
  ),
  bug(
    'a snapshot that another sealer is writing is removed',
    `${nats}/snapshots/open.ts`,
    '(sequence) => sequence < oldestKept',
    '(sequence) => sequence < (stored.heads[0] ?? 0) && !stored.heads.slice(0, auditLimits.snapshotsKept).includes(sequence)',
    'two-sealers-write-snapshots.json',
  ),
]

export const plantedBugs: readonly PlantedBug[] = [
  ...mended,
  ...logBugs,
  ...ledgerBugs,
  ...edgeBugs,
  ...processBugs,
  ...readerBugs,
  ...productionBugs,
]
