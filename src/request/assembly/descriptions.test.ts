/** The built-in agents, and their descriptions as text. */
import { describe, expect, it } from 'vitest'
import { AgentDescription } from '../../log/events/description.ts'
import { builtInDescriptions, descriptionFor, renderDescription } from './descriptions.ts'

const tools =
  'read_file write_file edit_file list_files search_files run_command git_status git_diff git_log git_commit complete delegate ask recall expand pin plan_tasks show_graph'.split(
    ' ',
  )

describe('the built-in descriptions', () => {
  it('built-in descriptions exist for the five documented agents', () => {
    expect(builtInDescriptions.map(one => one.agentType)).toEqual(['pm', 'dev', 'qa', 'harness', 'merge'])
  })

  it.each(builtInDescriptions)(
    'the description of $agentType is valid, has five to nine instructions and only tools that exist',
    one => {
      expect(AgentDescription.parse(one)).toEqual(one)
      expect(one.instructions.length).toBeGreaterThanOrEqual(5)
      expect(one.instructions.length).toBeLessThanOrEqual(9)
      expect(tools).toEqual(expect.arrayContaining(one.allowedTools))
      expect(new Set(one.allowedTools).size).toBe(one.allowedTools.length)
    },
  )

  it('built-in descriptions let only the writing agents write', () => {
    const writers = builtInDescriptions.filter(one => one.allowedTools.some(tool => /write|edit|commit/.test(tool)))
    expect(writers.map(one => one.agentType)).toEqual(['dev', 'merge'])
  })
})

it('any other agent has a plain description, which changes nothing', () => {
  const description = descriptionFor('translator')
  expect(AgentDescription.parse(description)).toEqual(description)
  expect(description.role).toContain('"translator"')
  expect(description.allowedTools).not.toContain('run_command')
  expect(descriptionFor('constructor').agentType).toBe('constructor')
})

describe('a rendered description', () => {
  it('a rendered description has role, instructions, tools and how to use them', () => {
    const description: AgentDescription = {
      agentType: 'x',
      role: 'You check.',
      instructions: ['Read first.', 'Then run.'],
      allowedTools: ['read_file', 'run_command'],
      toolInstructions: 'Keep it short.',
    }
    expect(renderDescription(description)).toBe(
      'You check.\n\n## Instructions\n- Read first.\n- Then run.\n\n## Tools\nYou may use these tools and no others: read_file, run_command.\nKeep it short.',
    )
  })

  it('a rendered description leaves out what is empty', () => {
    expect(renderDescription({ agentType: 'x', role: 'You check.', instructions: [], allowedTools: [] })).toBe(
      'You check.',
    )
  })
})
