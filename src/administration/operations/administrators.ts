import { permissionsOf } from '../../http/admin-roles.ts'
import { type AdminOperation, defineOperation } from '../operation.ts'
import type { AdministratorResponse } from '../responses.types.ts'

export const administratorOperations: readonly AdminOperation[] = [
  defineOperation({
    name: 'administrator.show',
    summary: 'Whose token this is, and what its role may do',
    answer: 'administrator',
    http: { method: 'get', path: '/admin/v1/administrator' },
    permission: 'read',
    run: ({ actor = 'unknown', role }) => {
      const body: AdministratorResponse = {
        object: 'administrator',
        actor,
        role,
        permissions: [...permissionsOf[role]],
      }
      return { body }
    },
  }),
]
