import type { AdminContext } from '../administration/admin-context.ts'
import type { EventLog } from '../log/event-log.ts'

export interface CommandContext extends AdminContext {
  readonly log: EventLog
}
