import * as changes from './changes.ts'
import * as credits from './credits.ts'
import * as keys from './keys.ts'
import * as limits from './limits.ts'
import * as plans from './plans.ts'
import * as prices from './prices.ts'
import { type AdminRoute, act, get, patch, post, put, remove } from './route.ts'
import * as routing from './routing.ts'
import * as subscriptions from './subscriptions.ts'
import * as workspaces from './workspaces.ts'

const requests = 'requests/admin'

/** The admin API, whole. */
export const adminRoutes: readonly AdminRoute[] = [
  post(
    '/admin/v1/workspaces',
    `${requests}/open-workspace.json`,
    { summary: 'Open a workspace; opening it again does nothing', answer: 'workspace' },
    workspaces.open,
  ),
  get(
    '/admin/v1/workspaces',
    { summary: 'Every workspace with its wallet', answer: 'list of workspace', query: workspaces.known },
    workspaces.list,
  ),
  get('/admin/v1/workspaces/:id', { summary: 'One workspace with its wallet', answer: 'workspace' }, workspaces.show),
  patch(
    '/admin/v1/workspaces/:id',
    `${requests}/change-workspace.json`,
    { summary: 'Change its name or credit limit', answer: 'workspace' },
    workspaces.change,
  ),
  post(
    '/admin/v1/workspaces/:id/credits',
    `${requests}/credit.json`,
    { summary: 'Add money, once for each reference', answer: 'credit' },
    credits.credit,
  ),
  get(
    '/admin/v1/workspaces/:id/credits',
    { summary: 'Money that was added, newest first', answer: 'list of credit', query: credits.known },
    credits.list,
  ),
  post(
    '/admin/v1/keys',
    `${requests}/issue-key.json`,
    { summary: 'Issue a key and show its secret, this once', answer: 'key' },
    keys.issue,
  ),
  get(
    '/admin/v1/keys',
    { summary: 'Every key, or those of a workspace', answer: 'list of key', query: keys.known },
    keys.list,
  ),
  get('/admin/v1/keys/:id', { summary: 'One key', answer: 'key' }, keys.show),
  patch(
    '/admin/v1/keys/:id',
    `${requests}/set-key-expiry.json`,
    { summary: 'Set when a key stops', answer: 'key' },
    keys.setExpiry,
  ),
  post(
    '/admin/v1/keys/:id/rotate',
    `${requests}/rotate-key.json`,
    { summary: 'Put a fresh key in its place and show its secret, this once', answer: 'key' },
    keys.rotate,
  ),
  act('/admin/v1/keys/:id/revoke', { summary: 'End a key; ending it again does nothing', answer: 'key' }, keys.revoke),
  remove('/admin/v1/keys/:id', { summary: 'The same', answer: 'key' }, keys.revoke),
  post(
    '/admin/v1/prices',
    'price-file.json',
    { summary: 'Publish rows of a price file; what stands already is not published again', answer: 'list of price' },
    prices.publish,
  ),
  get(
    '/admin/v1/prices',
    { summary: 'What is in force now, by model', answer: 'list of price', query: prices.known },
    prices.list,
  ),
  post(
    '/admin/v1/prices/import',
    `${requests}/import-prices.json`,
    { summary: "Compare with LiteLLM's table, and publish what is asked", answer: 'price_import' },
    prices.importPrices,
  ),
  get('/admin/v1/prices/*id', { summary: 'Every sheet of a model', answer: 'list of price' }, prices.history),
  get(
    '/admin/v1/aliases',
    { summary: 'Every alias, and where its word comes from', answer: 'list of alias', query: routing.aliasPage.known },
    routing.listAliases,
  ),
  put(
    '/admin/v1/aliases/:id',
    `${requests}/set-alias.json`,
    { summary: "Set an alias over the configuration's", answer: 'alias' },
    routing.putAlias,
  ),
  remove(
    '/admin/v1/aliases/:id',
    { summary: "Give the configuration's word back", answer: 'alias' },
    routing.removeAlias,
  ),
  get(
    '/admin/v1/routers',
    {
      summary: 'Every router, and where its word comes from',
      answer: 'list of router',
      query: routing.routerPage.known,
    },
    routing.listRouters,
  ),
  put(
    '/admin/v1/routers/:id',
    `${requests}/set-router.json`,
    { summary: "Set a router over the configuration's", answer: 'router' },
    routing.putRouter,
  ),
  remove(
    '/admin/v1/routers/:id',
    { summary: "Give the configuration's word back", answer: 'router' },
    routing.removeRouter,
  ),
  get(
    '/admin/v1/workspaces/:id/limits',
    {
      summary: 'The limits of a workspace and of its working keys, with what is spent',
      answer: 'list of limits',
      query: limits.known,
    },
    limits.list,
  ),
  put(
    '/admin/v1/workspaces/:id/limits',
    `${requests}/set-limits.json`,
    { summary: 'Set the limits of a workspace, whole', answer: 'limits' },
    limits.setOfWorkspace,
  ),
  remove(
    '/admin/v1/workspaces/:id/limits',
    { summary: 'Lift every limit of a workspace', answer: 'limits' },
    limits.liftOfWorkspace,
  ),
  put(
    '/admin/v1/workspaces/:id/keys/:key/limits',
    `${requests}/set-limits.json`,
    { summary: 'Set the limits of a key, whole', answer: 'limits' },
    limits.setOfKey,
  ),
  remove(
    '/admin/v1/workspaces/:id/keys/:key/limits',
    { summary: 'Lift every limit of a key', answer: 'limits' },
    limits.liftOfKey,
  ),
  get(
    '/admin/v1/plans',
    { summary: 'Every plan on its terms of now', answer: 'list of plan', query: plans.known },
    plans.list,
  ),
  put(
    '/admin/v1/plans/:id',
    `${requests}/publish-plan.json`,
    { summary: 'Publish a plan, or its new terms', answer: 'plan' },
    plans.publish,
  ),
  get(
    '/admin/v1/workspaces/:id/subscription',
    { summary: 'The plan that a workspace has', answer: 'subscription' },
    subscriptions.show,
  ),
  put(
    '/admin/v1/workspaces/:id/subscription',
    `${requests}/subscribe.json`,
    { summary: 'Give a workspace a plan, and charge its fee', answer: 'subscription' },
    subscriptions.subscribe,
  ),
  remove(
    '/admin/v1/workspaces/:id/subscription',
    { summary: 'Do not renew the plan; it ends with its period', answer: 'subscription' },
    subscriptions.cancel,
  ),
  get(
    '/admin/v1/events',
    { summary: 'Who changed what when, newest first', answer: 'list of event', query: changes.known },
    changes.list,
  ),
]
