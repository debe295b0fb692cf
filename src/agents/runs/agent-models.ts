/** Chooses the model of an agent and opens each model once. */

import { FeatureOff, IllegalState, ModelMissing } from '../../errors.ts'
import type { Scope } from '../../log/engine.ts'
import type { SessionHead } from '../../log/views/session.ts'
import type { Model } from '../../models/model.ts'
import { type ModelSettings, openModel } from '../../models/open.ts'
import type { AgentSettings } from './agent-settings.ts'
import type { RunOptions } from './run-options.ts'

export interface AgentModels {
  /**
   * Returns the first model named: by the caller, the session, the agent type, the project.
   *
   * @throws {ModelMissing} when none is named
   * @throws {FeatureOff} when the project has agents switched off
   */
  choose(head: Pick<SessionHead, 'agentType' | 'requests'>, asked: Pick<RunOptions, 'model' | 'root'>): Promise<Model>
  /** Names of the models in the project's settings. */
  configured(): string[]
}

export function agentModels({
  scope,
  settings,
  defaultModel,
  isOn,
  root: projectRoot,
  opened,
}: {
  scope: Scope
  settings: AgentSettings
  /** The model whose limits requests respect. */
  defaultModel: string | undefined
  isOn: boolean
  root: string | undefined
  /** Models opened by name, each once. */
  opened: Map<string, Promise<Model>>
}): AgentModels {
  const { project } = scope

  function settingsOf(name: string): ModelSettings {
    const { prices, concurrency } = settings
    const places = typeof concurrency === 'number' ? concurrency : concurrency[name]
    return { prices, ...(places !== undefined && { concurrency: places }) }
  }

  return {
    async choose(head, { model: asked, root = projectRoot }) {
      if (!isOn) throw new FeatureOff({ feature: 'agents', project })
      const { model, models } = settings
      const named = asked ?? head.requests?.model ?? models[head.agentType] ?? model ?? defaultModel
      if (named === undefined) throw new ModelMissing(head.agentType)
      if (typeof named !== 'string') return named
      if (root === undefined && named.startsWith('command:')) {
        throw new IllegalState(`A program works in the project's folder: projects.${project}.root is missing.`, {
          project,
        })
      }
      // A command runs in the folder it was opened for.
      const key = JSON.stringify([named, root])
      let found = opened.get(key)
      if (!found) {
        found = openModel(named, { ...settingsOf(named), ...(root !== undefined && { folder: root }) })
        opened.set(key, found)
        // A model that failed to open may open later, for example once its key is set.
        found.catch(() => opened.delete(key))
      }
      return found
    },
    configured() {
      const { model, models } = settings
      return [defaultModel, model, ...Object.values(models)].filter(name => typeof name === 'string')
    },
  }
}
