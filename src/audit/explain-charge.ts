import { type Evidence, findOwner, findWorkspaceId } from './evidence.ts'
import { explainRequest } from './explain-request.ts'
import { explainTask } from './explain-task.ts'
import type { Explanation } from './explanation.ts'

/** Another workspace's event that names the same id is no part of the story, and nothing for its reader. */
const keepOwnWorkspace = (evidence: Evidence): Evidence => {
  const owner = findOwner(evidence.events)
  return { ...evidence, events: evidence.events.filter(({ event }) => findWorkspaceId(event) === owner) }
}

/** The story of a request or a task as the log tells it; null where it tells of neither. */
export const explainCharge = (evidence: Evidence): Explanation | null => {
  const own = keepOwnWorkspace(evidence)
  return explainRequest(own) ?? explainTask(own)
}
