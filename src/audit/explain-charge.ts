import { type Evidence, findOwner, findWorkspaceId } from './evidence.ts'
import { explainRequest } from './explain-request.ts'
import { explainTask } from './explain-task.ts'
import type { Explanation } from './explanation.ts'

/** Another workspace's events with the same id must not be shown to its reader. */
const keepOwnWorkspace = (evidence: Evidence): Evidence => {
  const owner = findOwner(evidence.events)
  return { ...evidence, events: evidence.events.filter(({ event }) => findWorkspaceId(event) === owner) }
}

export const explainCharge = (evidence: Evidence): Explanation | null => {
  const own = keepOwnWorkspace(evidence)
  return explainRequest(own) ?? explainTask(own)
}
