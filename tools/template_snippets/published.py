"""A few larger pieces as published templates write them."""

SNIPPETS = [
    # a type printer as tool prompts use
    """{%- macro json_type(p) -%}
{%- if p.type == 'array' -%}{%- if p['items'] -%}{{ json_type(p['items']) }}[]{%- else -%}any[]{%- endif -%}
{%- elif p.type is defined and p.type is iterable and p.type is not string -%}{{ p.type | join(' | ') }}
{%- elif p.enum -%}{{ '"' + p.enum|join('" | "') + '"' }}
{%- elif p.type == 'object' -%}{ {%- for k, v in p.properties.items() -%} {{ k }}{{ '?' if k not in (p.required or []) }}: {{ json_type(v) }}{{ ', ' if not loop.last }} {%- endfor -%} }
{%- else -%}{{ p.type }}{%- endif -%}
{%- endmacro -%}
{% set schema = {'type': 'object', 'required': ['a'], 'properties': {'a': {'type': 'array', 'items': {'type': 'string'}}, 'b': {'type': ['integer', 'null']}, 'c': {'enum': ['x', 'y']}, 'd': {'type': 'object', 'properties': {'e': {'type': 'number'}}}}} %}
function f(_: {{ json_type(schema) }}) => any;
""",
    """{%- set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='') -%}
{%- for message in messages -%}{%- if message['role'] == 'system' -%}{%- set ns.system_prompt = message['content'] -%}{%- endif -%}{%- endfor -%}
{{ bos_token }}{{ ns.system_prompt }}
{%- for message in messages -%}
{%- if message['role'] == 'user' -%}{%- set ns.is_tool = false -%}{{'<|User|>' + message['content']}}{%- endif -%}
{%- if message['role'] == 'assistant' and message['content'] is none -%}x{%- endif -%}
{%- if message['role'] == 'assistant' and message['content'] is not none -%}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<|Assistant|>' + content + eos_token}}{%- endif -%}
{%- if message['role'] == 'tool' -%}{%- set ns.is_tool = true -%}{{'<|tool|>' + message['content']}}{%- set ns.is_output_first = false %}{%- endif -%}
{%- endfor -%}{% if ns.is_tool %}{{'<|end|>'}}{% endif %}""",
    """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if loop.index0 > ns.last_query_index %}
        {%- if loop.last or (not loop.last and message.content) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + message.content.strip('\\n') + '\\n</think>\\n\\n' + message.content.lstrip('\\n') }}
        {%- endif %}
    {%- else %}{{- message.role }}
    {%- endif %}
    {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}{{- '<|first|>' }}{%- endif %}
    {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}{{- '<|last|>\\n' }}{%- endif %}
{%- endfor %}""",
    """{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if strftime_now is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- else %}{%- set date_string = "26 Jul 2024" %}{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- if tools is not none %}{{- "Environment: ipython\\n" }}{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if builtin_tools is defined %}{{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\\n\\n"}}{%- endif %}
{%- for arg_name, arg_val in messages[2].tool_calls[0].function.arguments | items %}{{- arg_name + '="' + arg_val|string + '"' }}{%- if not loop.last %}{{- ", " }}{%- endif %}{%- endfor %}
{{- '{"name": "' + messages[2].tool_calls[0].function.name + '", ' }}{{- '"parameters": ' }}{{- messages[2].tool_calls[0].function.arguments | tojson }}{{- "}" }}""",
    """{%- if messages[0]["role"] == "system" %}{%- set system_message = messages[0]["content"] %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}{%- set ns.index = 0 %}
{%- for message in loop_messages %}
{%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
{%- if (message["role"] == "user") != (ns.index % 2 == 0) %}{{- raise_exception("roles must alternate") }}{%- endif %}
{%- set ns.index = ns.index + 1 %}{%- endif %}{%- endfor %}
{{- bos_token }}{%- for message in loop_messages %}{%- if message["role"] == "user" %}{%- if tools is defined and (message == user_messages[-1]) %}T{%- endif %}{%- if loop.last and system_message is defined %}{{- "[INST] " + system_message }}{%- else %}{{- "[INST] " + message["content"] + "[/INST]" }}{%- endif %}
{%- elif message.tool_calls is defined and message.tool_calls is not none %}{{- "[TOOL_CALLS] [" }}{%- for tool_call in message.tool_calls %}{%- set out = tool_call.function|tojson %}{{- out[:-1] }}{{- ', "id": "' + tool_call.id + '"}' }}{%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}{%- endfor %}{%- endif %}{%- endfor %}""",
]
