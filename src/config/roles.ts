import { type ProcessRole, runsRole } from '../roles/role.ts'

/** A process reads only those secrets that its roles use. */
export const callsUpstream = (role: ProcessRole): boolean => runsRole(role, 'proxy')
export const signsCallbacks = (role: ProcessRole): boolean => runsRole(role, 'video-poller')
/** A proxy refreshes expired result URLs. */
export const callsVendors = (role: ProcessRole): boolean => signsCallbacks(role) || callsUpstream(role)
export const readsDatabase = (role: ProcessRole): boolean => role !== 'proxy'
export const answersClients = (role: ProcessRole): boolean => runsRole(role, 'edge')
export const administers = answersClients
export const seals = (role: ProcessRole): boolean => runsRole(role, 'scheduler')
