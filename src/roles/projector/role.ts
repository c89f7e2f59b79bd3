import type { LogOf } from '../../log/event-log.ts'
import { manifests } from '../manifests.ts'
import { defineRole } from '../role.ts'
import { LagWatch } from './lag-watch.ts'
import { Projector, type ProjectorParts } from './projector.ts'

/** Consumes every event and emits none: the only writer of the read models' tables. */
export const projector = defineRole({
  name: 'projector',
  emits: manifests.projector,
  start: async (parts: Omit<ProjectorParts, 'log'> & { readonly log: LogOf<never> }) => {
    const projecting = new Projector(parts)
    const watch = new LagWatch({ ...parts, projectedSequence: () => projecting.projectedSequence() })
    const stopWatching = (): void => watch.stop()
    projecting.done.then(stopWatching, stopWatching)
    return projecting
  },
})
