import { defineRole, type LogOf } from '../role.ts'
import { Projector, type ProjectorParts } from './projector.ts'

/** Hears every event and says nothing: the only writer of the read models' tables. */
export const projector = defineRole({
  name: 'projector',
  emits: [],
  start: async (parts: Omit<ProjectorParts, 'log'> & { readonly log: LogOf<never> }) => new Projector(parts),
})
