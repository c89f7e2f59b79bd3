import { userInfo } from 'node:os'

const osUser = (): string => {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown') // A container's user may have no name.
  }
}

export const resolveOperator = (named: string | undefined): string => `operator:${named ?? osUser()}`
