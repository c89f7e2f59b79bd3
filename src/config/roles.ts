import type { ProcessRole } from '../roles/role.ts'

/** A process reads only those secrets that its role uses. */
export const callsUpstream = (role: ProcessRole): boolean => role === 'gateway' || role === 'proxy'
export const signsCallbacks = (role: ProcessRole): boolean => role === 'gateway' || role === 'video-poller'
/** A proxy refreshes expired result URLs. */
export const callsVendors = (role: ProcessRole): boolean => signsCallbacks(role) || role === 'proxy'
export const readsDatabase = (role: ProcessRole): boolean => role !== 'proxy'
export const answersClients = (role: ProcessRole): boolean => role === 'gateway' || role === 'edge'
export const administers = answersClients
export const seals = (role: ProcessRole): boolean => role === 'gateway' || role === 'scheduler'
