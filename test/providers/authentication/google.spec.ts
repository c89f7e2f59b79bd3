import { createPrivateKey } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { UndiciClient } from '../../../src/adapters/http/client.ts'
import { signRs256 } from '../../../src/providers/authentication/google.ts'
import { authenticationLimits } from '../../../src/providers/authentication/limits.ts'
import { type AuthenticatorParts, openAuthenticator } from '../../../src/providers/authentication/open-authenticator.ts'
import type { Authenticator } from '../../../src/providers/dialect/authenticator.ts'
import { until } from '../../support/clients.ts'
import { IssuedTokens, startCloud } from '../../support/clouds/cloud.ts'
import { authorizedUser, googleMetadataGate, googleTokenGate, serviceAccount } from '../../support/clouds/google.ts'
import { temporaryFolder } from '../../support/gateway.ts'

const request = { url: 'https://upstream.example/', method: 'POST', headers: {}, signal: new AbortController().signal }

const open = (
  t: Test,
  file: string | null,
  metadataUrl = 'http://127.0.0.1:1',
  parts: Partial<AuthenticatorParts> = {},
): Authenticator => {
  const http = new UndiciClient()
  t.teardown(() => http.stop())
  return openAuthenticator(
    { type: 'google_credentials', file, metadataUrl },
    { http, metadataHttp: http, clock: Date.now, ...parts },
  )
}

t.test('the RS256 signature of RFC 7515, appendix A.2', async (t) => {
  const key = createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: 'ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ',
      e: 'AQAB',
      d: 'Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTeXZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvXt4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ',
      p: '4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3KhooKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgIPgtldC-KDV5z-y2XDwGUc',
      q: 'uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11BKBBypeeF6689rjcJIDEz9RWdc',
      dp: 'BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9YkxvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwrA86rZtu5Mbr1C1XsmvkxHQAdYo0',
      dq: 'h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKgB719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ68m6_pbLBSp3nssTdlqvd0tIiTHU',
      qi: 'IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh6A5603k2-ZQwVK0JKSHuLFkuQ3U',
    },
  })
  const signed =
    'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
  t.equal(
    signRs256(signed, key),
    'cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw',
  )
})

t.test('a service account, a user, and the service account of a machine', async (t) => {
  const tokens = new IssuedTokens()
  const origin = await startCloud(t, googleTokenGate(tokens))
  const metadataUrl = await startCloud(t, googleMetadataGate(tokens))
  const folder = await temporaryFolder(t)
  const files = { account: join(folder, 'account.json'), user: join(folder, 'user.json') }
  await writeFile(files.account, JSON.stringify(serviceAccount(origin)))
  await writeFile(files.user, JSON.stringify(authorizedUser(origin)))
  const account = await open(t, files.account).authorize(request)
  const user = await open(t, files.user).authorize(request)
  const machine = await open(t, null, metadataUrl).authorize(request)
  for (const { authorization } of [account, user, machine]) t.ok(tokens.accepts(authorization))
  t.equal(account['x-goog-user-project'], undefined)
  t.equal(user['x-goog-user-project'], 'a-project', 'who pays for a user’s calls')
})

t.test('what is wrong with credentials is told without them', async (t) => {
  const origin = await startCloud(t, googleTokenGate(new IssuedTokens()))
  const file = join(await temporaryFolder(t), 'credentials.json')
  const account = serviceAccount(origin)
  const user = { ...authorizedUser(origin), refresh_token: '1//revoked-0123456789' }
  const rows: readonly (readonly [content: string, message: RegExp])[] = [
    [JSON.stringify({ ...account, client_email: 'other@a-project' }), /refuses: invalid_grant: Invalid JWT/],
    [JSON.stringify({ ...account, private_key: 'no key' }), /has a private_key that cannot sign/],
    [JSON.stringify({ ...account, private_key: undefined }), /has no private_key/],
    [JSON.stringify(user), /refuses: invalid_grant: Bad Request/],
    [JSON.stringify({ type: 'external_account' }), /of the type external_account are not supported/],
    ['not JSON', /is no JSON object/],
  ]
  for (const [content, message] of rows) {
    await writeFile(file, content)
    const fault = await open(t, file)
      .authorize(request)
      .catch((thrown: unknown) => thrown as Error)
    t.match(fault, { kind: 'authentication', cause: { message } }, content.slice(0, 40))
    t.notMatch(String((fault as Error).cause), /PRIVATE KEY|1\/\/|google-client-secret/)
  }
  const absent = open(t, join(file, '..', 'absent.json'))
  await t.rejects(absent.authorize(request), { cause: { message: /cannot be read: ENOENT/ } })
})

t.test(
  'a file that is replaced counts for the next token; one that is of no use is reported, and the former one used',
  async (t) => {
    const tokens = new IssuedTokens()
    const origin = await startCloud(t, googleTokenGate(tokens))
    const file = join(await temporaryFolder(t), 'credentials.json')
    const reports: string[] = []
    const files = {
      usable: () => void reports.push('usable'),
      rejected: (_: string, fault: unknown) => void reports.push((fault as Error).message),
    }
    let nowMs = Date.now() - 10 * authenticationLimits.refusedPauseMs // The token endpoint refuses what is issued in the future.
    await writeFile(file, '')
    const authenticator = open(t, file, undefined, { clock: () => nowMs, files })
    await until(() => reports.length === 1)
    const renewed = async () => {
      nowMs += authenticationLimits.refusedPauseMs
      authenticator.discard()
      return authenticator.authorize(request)
    }
    await writeFile(file, JSON.stringify(serviceAccount(origin)))
    t.ok(tokens.accepts((await authenticator.authorize(request))['authorization']))
    for (const broken of [
      '',
      '{"type":"service_account"}',
      JSON.stringify({ ...serviceAccount(origin), private_key: 'x' }),
    ]) {
      await writeFile(file, broken)
      t.ok(tokens.accepts((await renewed())['authorization']), broken.slice(0, 30))
    }
    await writeFile(file, JSON.stringify(authorizedUser(origin)))
    const user = await renewed()
    t.ok(tokens.accepts(user['authorization']))
    t.equal(user['x-goog-user-project'], 'a-project', 'the new file is used')
    t.match(reports, [
      /is no JSON object/,
      'usable',
      /is no JSON object/,
      /has no client_email/,
      /private_key that cannot sign/,
      'usable',
    ])
  },
)
