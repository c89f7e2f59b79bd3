/** What a browser sends with each request of the page after signing in. */
export interface SessionHeaders extends Readonly<Record<string, string>> {
  readonly cookie: string
  readonly 'x-csrf-token': string
}

export const cookieIn = (response: Response): string => response.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''

/** Signs in with a key or an administrator's token. */
export const openSession = async (url: string, secret: string): Promise<SessionHeaders> => {
  const headers = { authorization: `Bearer ${secret}` }
  const response = await fetch(`${url}/dashboard/session`, { method: 'POST', headers })
  const answer = (await response.json()) as { readonly signed_in: { readonly csrf_token: string } }
  return { cookie: cookieIn(response), 'x-csrf-token': answer.signed_in.csrf_token }
}
