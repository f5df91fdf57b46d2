// SPDX-License-Identifier: BSD-3-Clause
// man_page.cpp - writes man pages from the parser's description.
//
// Holds    There is no date, so equal sources give equal pages.
#include <fmt/format.h>

#include <cctype>

#include "base/environment.hpp"
#include "collectives/collective_traits.hpp"
#include "tools/cli/reference.hpp"

namespace weft::tools {

namespace {

/// Escapes text for man(7): no line begins with a control character, and dashes stay dashes.
std::string roff(const std::string& text) {
    std::string out;
    bool line_begins = true;
    for (const char c : text) {
        if (line_begins && (c == '.' || c == '\'')) out += "\\&";
        line_begins = c == '\n';
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    return out;
}

std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string ended(std::string text) {
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
}

/// Makes a sentence. Not for the help of options, which may begin with a value in exact spelling.
std::string sentence(std::string text) {
    if (!text.empty())
        text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return ended(std::move(text));
}

std::string head(const std::string& name, const std::string& summary) {
    return fmt::format(".TH {} 1 \"\" \"weft {}\" \"weft\"\n.SH NAME\n{} \\- {}\n",
                       upper(roff(name)), WEFT_VERSION, roff(name), roff(summary));
}

/// Formats names in bold and the value in italics, for the synopsis and the list of options.
std::string tag(const OptionText& option) {
    std::string text;
    for (const std::string& name : option.names)
        text += fmt::format("{}\\fB{}\\fR", text.empty() ? "" : ", ", roff(name));
    if (!option.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(option.value));
    return text;
}

std::string entry(const OptionText& option, const std::string& shown) {
    std::string text = fmt::format(".TP\n{}\n{}", shown, roff(ended(option.help)));
    if (!option.choices.empty()) {
        std::string choices;
        for (const std::string& choice : option.choices)
            choices += fmt::format("{}{}", choices.empty() ? "" : ", ", choice);
        text += fmt::format(" One of: {}.", roff(choices));
    }
    if (!option.range.empty()) text += fmt::format(" In the range {}.", roff(option.range));
    if (!option.fallback.empty()) text += fmt::format(" Default: {}.", roff(option.fallback));
    if (option.repeats) text += " May be given several times.";
    return text + "\n";
}

std::string entries(const std::vector<OptionText>& options) {
    std::string text;
    for (const OptionText& option : options) text += entry(option, tag(option));
    return text;
}

std::string exit_statuses() {
    return ".SH EXIT STATUS\n"
           ".TP\n0\nDone, and right.\n"
           ".TP\n1\nThe answer is no: a program does not verify, a result was wrong.\n"
           ".TP\n2\nUnusable arguments; the message names the argument and the rule.\n"
           ".TP\n3\nThe environment failed: no provider, no memory, a rank died.\n";
}

std::string environment() {
    std::string text = ".SH ENVIRONMENT\n";
    for (const base::Variable& variable : base::variables()) {
        text += fmt::format(".TP\n\\fB{}\\fR\n{} Value: {}.", roff(std::string(variable.name)),
                            roff(sentence(std::string(variable.meaning))),
                            roff(std::string(variable.form)));
        if (!variable.fallback.empty())
            text += fmt::format(" Default: {}.", roff(std::string(variable.fallback)));
        text += "\n";
    }
    for (const std::string_view kind : collectives::kCollectiveNames)
        text +=
            fmt::format(".TP\n\\fB{}\\fR\nThe algorithm of every {}, as weft list shows them.\n",
                        roff(base::algorithm_variable(kind)), kind);
    return text;
}

std::string synopsis(const CommandText& command) {
    std::string text =
        fmt::format(".SH SYNOPSIS\n\\fBweft {}\\fR [\\fIOPTIONS\\fR]", roff(command.name));
    for (const OptionText& argument : command.arguments) {
        const std::string shown = fmt::format("\\fI{}\\fR", upper(roff(argument.names.front())));
        text += argument.required ? " " + shown : fmt::format(" [{}]", shown);
    }
    if (command.runs_program) text += " [\\fB\\-\\-\\fR] \\fIPROGRAM\\fR [\\fIARGUMENTS\\fR...]";
    return text + "\n";
}

}  // namespace

std::string man_page(const CommandText& command) {
    std::string text = head("weft-" + command.name, command.summary) + synopsis(command) +
                       fmt::format(".SH DESCRIPTION\n{}\n", roff(sentence(command.summary)));
    if (!command.footer.empty()) text += fmt::format(".PP\n{}\n", roff(command.footer));
    if (!command.arguments.empty()) {
        text += ".SH ARGUMENTS\n";
        for (const OptionText& argument : command.arguments)
            text += entry(argument, fmt::format("\\fI{}\\fR", upper(roff(argument.names.front()))));
    }
    text += ".SH OPTIONS\n" + entries(command.options);
    if (!command.examples.empty()) {
        text += ".SH EXAMPLES\n.nf\n";
        for (const std::string& example : command.examples) text += roff(example) + "\n";
        text += ".fi\n";
    }
    // A launcher returns the status of its program; its footer explains this.
    if (!command.runs_program) text += exit_statuses();
    return text + ".SH SEE ALSO\n\\fBweft\\fR(1)\n";
}

std::string man_page(const Reference& reference) {
    std::string text = head("weft", reference.summary.substr(reference.summary.find(' ') + 1)) +
                       ".SH SYNOPSIS\n\\fBweft\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR...]\n"
                       ".SH DESCRIPTION\nCollectives as verified schedules of one\\-sided puts: "
                       "start jobs, time calls, and\n"
                       "verify, simulate and compare schedules. Results go to the standard output, "
                       "everything else to the\n"
                       "standard error. Each command has a page of its own.\n"
                       ".SH COMMANDS\n";
    for (const CommandText& command : reference.commands)
        text += fmt::format(".TP\n\\fBweft\\-{}\\fR(1)\n{}\n", roff(command.name),
                            roff(sentence(command.summary)));
    text += ".SH OPTIONS\n" + entries(reference.options) + exit_statuses() + environment() +
            ".SH SEE ALSO\n";
    for (const CommandText& command : reference.commands)
        text += fmt::format("\\fBweft\\-{}\\fR(1){}\n", roff(command.name),
                            &command == &reference.commands.back() ? "" : ",");
    return text;
}

}  // namespace weft::tools
