import type { Evidence } from './evidence.ts'
import { explainRequest } from './explain-request.ts'
import { explainTask } from './explain-task.ts'
import type { Explanation } from './explanation.ts'

/** The story of a request or a task as the log tells it; null where it tells of neither. */
export const explain = (evidence: Evidence): Explanation | null => explainRequest(evidence) ?? explainTask(evidence)
