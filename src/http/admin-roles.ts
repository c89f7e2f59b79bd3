import { GatewayError } from '../errors/gateway-error.ts'

/** `configure`: whatever moves no money by itself. docs/administration.md lists what each one is for. */
export type Permission = 'read' | 'read_money' | 'configure' | 'move_money'

export const permissionsOf = {
  owner: ['read', 'read_money', 'configure', 'move_money'],
  operator: ['read', 'read_money', 'configure'],
  finance: ['read', 'read_money', 'move_money'],
  auditor: ['read', 'read_money'],
  support: ['read'],
} as const satisfies Readonly<Record<string, readonly Permission[]>>

export type AdminRole = keyof typeof permissionsOf

export const isPermitted = (role: AdminRole, permission: Permission): boolean =>
  (permissionsOf[role] as readonly Permission[]).includes(permission)

export const rolesWith = (permission: Permission): readonly AdminRole[] =>
  (Object.keys(permissionsOf) as AdminRole[]).filter((role) => isPermitted(role, permission))

/** One of them is enough. Throws `access_denied`, which names the roles that may. */
export const requirePermission = (role: AdminRole, ...permissions: readonly Permission[]): void => {
  if (permissions.some((permission) => isPermitted(role, permission))) return
  const allowed = [...new Set(permissions.flatMap(rolesWith))].join(', ')
  throw new GatewayError('access_denied', `The role ${role} may not do this: it takes one of ${allowed}.`)
}
