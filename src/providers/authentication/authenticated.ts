import type { Authenticator } from '../dialect/authenticator.ts'
import type { HttpClient } from '../http.ts'

const refusedStatuses: readonly number[] = [401, 403]

/** Every request gets its credential just before it is sent. */
export const authenticated = (http: HttpClient, authenticator: Authenticator | undefined): HttpClient =>
  authenticator === undefined
    ? http
    : {
        request: async (request) => {
          const added = await authenticator.authorize(request)
          const response = await http.request({ ...request, headers: { ...request.headers, ...added } })
          if (refusedStatuses.includes(response.status)) authenticator.discard()
          return response
        },
      }
