import { type Evidence, ownerIn, workspaceIn } from './evidence.ts'
import { explainRequest } from './explain-request.ts'
import { explainTask } from './explain-task.ts'
import type { Explanation } from './explanation.ts'

/** Another workspace's event that names the same id is no part of the story, and nothing for its reader. */
const ofItsWorkspace = (evidence: Evidence): Evidence => {
  const owner = ownerIn(evidence.events)
  return { ...evidence, events: evidence.events.filter(({ event }) => workspaceIn(event) === owner) }
}

/** The story of a request or a task as the log tells it; null where it tells of neither. */
export const explain = (evidence: Evidence): Explanation | null => {
  const own = ofItsWorkspace(evidence)
  return explainRequest(own) ?? explainTask(own)
}
