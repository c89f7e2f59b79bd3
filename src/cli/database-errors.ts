import { CommandError } from './report.ts'

/** By the code of a failed system call, or PostgreSQL's SQLSTATE. */
const databaseErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'cannot be reached: connection refused',
  ECONNRESET: 'cannot be reached: the connection was reset',
  EHOSTUNREACH: 'cannot be reached: no route to the host',
  ENOTFOUND: 'cannot be reached: no such host name',
  EAI_AGAIN: 'cannot be reached: the host name cannot be looked up',
  ETIMEDOUT: 'cannot be reached: no answer',
  '28000': 'refuses this user',
  '28P01': 'refuses this user',
  '3D000': 'has no such database',
}

const describeDatabaseError = (fault: unknown): string | undefined => {
  if (!(fault instanceof Error)) return undefined
  if ('code' in fault) return databaseErrors[String(fault.code)]
  return /connect.*timeout|timeout.*connect/i.test(fault.message) ? 'does not answer' : undefined
}

/** Replaces known faults by a CommandError with the reason and the host, never the password; rethrows any other. */
export const withDatabaseErrors = async <T>(url: string, work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (fault) {
    const hindrance = describeDatabaseError(fault)
    if (hindrance === undefined) throw fault
    throw new CommandError(`PostgreSQL at ${new URL(url).host} ${hindrance}`, { cause: fault })
  }
}
